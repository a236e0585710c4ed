// Sets the theme before the first paint, so that a dark page never flashes white.
try {
  var settings = JSON.parse(localStorage.getItem("pulseboard.settings") || "{}");
  var theme = settings.theme || "system";
  var dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
} catch (error) {
  document.documentElement.dataset.theme = "light";
}
