// Before the page's own code is here: the theme, so that a dark page never flashes white, and the first questions.
try {
  var settings = JSON.parse(localStorage.getItem("pulseboard.settings") || "{}");
  var theme = settings.theme || "system";
  var dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
} catch (error) {
  document.documentElement.dataset.theme = "light";
}
window.pulseboardEarly = {};
["status", "runs", "tags?names=1"].forEach(function (question) {
  var answer = fetch("api/" + question, { credentials: "same-origin" });
  answer.catch(function () {});
  window.pulseboardEarly[question] = answer;
});
