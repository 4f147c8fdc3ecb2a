"use strict";

// Copies the command beside a button; where the browser does not allow it, the command is selected instead.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    const command = button.previousElementSibling;
    if (command) window.getSelection().selectAllChildren(command);
    button.textContent = "Selected: press Ctrl-C";
  }
  button.removeAttribute("aria-label"); // Else a screen reader says the label, and not the outcome.
});

// Says of a grid that is wider than its box that it can be scrolled: systems that hide scroll bars show nothing of it.
const grids = new ResizeObserver((boxes) => {
  for (const { target } of boxes) target.classList.toggle("cut", target.scrollWidth > target.clientWidth);
});
const watchGrids = () => {
  grids.disconnect();
  for (const grid of document.querySelectorAll(".wide:has(> .grid)")) grids.observe(grid);
};
watchGrids();
document.addEventListener("htmx:afterSwap", watchGrids);
