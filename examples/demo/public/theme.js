// Before the first paint: the theme chosen last time, else the system's (style.css).
(() => {
  const root = document.documentElement;
  try {
    const kept = localStorage.getItem("theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* no storage: the system's */ }
})();
