// Runs before the page's own code has loaded: sets the theme, so that a dark page never flashes white, and sends the
// first requests.
try {
  const settings = JSON.parse(localStorage.getItem("pulseboard.settings") || "{}");
  const theme = settings.theme || "system";
  const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
} catch {
  document.documentElement.dataset.theme = "light";
}
window.pulseboardPrefetch = {};
for (const path of ["status", "runs", "tags?names=1"]) {
  const response = fetch("api/" + path, { credentials: "same-origin" });
  response.catch(() => {});
  window.pulseboardPrefetch[path] = response;
}
