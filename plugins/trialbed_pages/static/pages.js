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

// Shows the answer of the cell under the pointer or with the focus beside the grid. Texts are copied as elements.
const showCell = ({ target }) => {
  const cell = target.closest?.(".tasks td");
  const told = cell?.querySelector(".tip");
  if (!told || cell.classList.contains("shown")) return;
  document.querySelector(".tasks .shown")?.classList.remove("shown");
  cell.classList.add("shown");
  const [heading, ...rest] = told.children;
  const parts = [heading, cell.parentElement.querySelector(".task"), ...rest].map((part) => part.cloneNode(true));
  document.querySelector(".peek").replaceChildren(...parts);
};
document.addEventListener("mouseover", showCell);
document.addEventListener("focusin", showCell);

// Keys: from cell to cell in a grid, and from trial to trial of the list it came from.
const STEPS = { j: [1, 0], k: [-1, 0], ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
const follow = (selector) => document.querySelector(selector)?.click();
const linkFrom = (cell, [down, right]) => {
  const rows = [...cell.closest("tbody").rows];
  let [row, column] = [rows.indexOf(cell.parentElement), cell.cellIndex];
  do {
    [row, column] = [row + down, column + right];
  } while (rows[row]?.cells[column] && !rows[row].cells[column].querySelector("a"));
  return rows[row]?.cells[column]?.querySelector("a");
};
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, select, textarea, dialog")) return;
  const step = STEPS[key];
  const first = document.querySelector(".tasks td a");
  const here = document.activeElement.closest(".tasks td");
  if (key === "?") document.getElementById("keys").showModal();
  else if (key === "u") follow("a[rel=up]");
  else if (key === "/") document.querySelector(".filter input[type=search]")?.focus();
  else if (first && step && (here || key === "j" || key === "k")) {
    const link = here ? linkFrom(here, step) : first;
    if (link) link.focus();
    else if (step[0]) follow(step[0] > 0 ? ".pages [rel=next]" : ".pages [rel=prev]");
  } else if (step && (key.length === 1 || step[1])) {
    follow(step[0] + step[1] > 0 ? ".steps [rel=next]" : ".steps [rel=prev]");
    return;
  } else return;
  event.preventDefault();
});
