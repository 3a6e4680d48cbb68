// The theme that a person chose, before anything is shown.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's theme holds */ }
document.documentElement.classList.add("js");
