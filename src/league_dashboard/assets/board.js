// The boards of a match, one at a time. Without this script all of them stay on the page, one below the other.
(function () {
  "use strict";

  document.addEventListener("DOMContentLoaded", () => {
    const section = document.getElementById("boards");
    const boards = [...section.querySelectorAll("figure")];
    const stepper = section.querySelector(".stepper");
    const place = section.querySelector(".place");
    let shown = boards.length - 1;

    function show(step) {
      shown = Math.max(0, Math.min(boards.length - 1, step));
      boards.forEach((board, at) => board.classList.toggle("shown", at === shown));
      place.textContent = "Move " + shown + " of " + (boards.length - 1);
      for (const button of stepper.querySelectorAll("button")) {
        const isBack = ["first", "previous"].includes(button.dataset.step);
        button.disabled = shown === (isBack ? 0 : boards.length - 1);
      }
    }

    const steps = {
      first: () => show(0),
      previous: () => show(shown - 1),
      next: () => show(shown + 1),
      last: () => show(boards.length - 1),
    };
    const keys = { Home: "first", ArrowLeft: "previous", ArrowRight: "next", End: "last" };

    stepper.addEventListener("click", (event) => {
      const step = event.target.closest("button")?.dataset.step;
      if (step) steps[step]();
    });
    section.addEventListener("keydown", (event) => {
      const step = keys[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      steps[step]();
      boards[shown].parentElement.focus(); // a button that was just disabled would lose the next key
    });

    section.classList.add("stepping");
    stepper.hidden = false;
    show(shown);
  });
})();
