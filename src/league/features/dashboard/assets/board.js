// The boards of a match, one at a time, with its clocks. Without this script all of them stay on the page, one below the
// other. While the match is played, a new board takes its place behind those that are here.
(function () {
  "use strict";
  const KEYS = { Home: "first", ArrowLeft: "previous", ArrowRight: "next", End: "last" };
  let play = null;
  let boards = [];
  let shown = 0;

  const at = (board) => Number(board.dataset.at);

  function show(place) {
    shown = Math.max(0, Math.min(boards.length - 1, place));
    const board = boards[shown];
    boards.forEach((one) => one.classList.toggle("shown", one === board));
    const sign = play.querySelector(".place");
    if (!sign || !board) return;
    document.getElementById("said").textContent = board.querySelector("figcaption").textContent;
    const last = boards[boards.length - 1].dataset.number;
    sign.textContent = "Move " + board.dataset.number + " of " + last;
    for (const button of play.querySelectorAll(".stepper button")) {
      button.disabled = shown === (["first", "previous"].includes(button.dataset.step) ? 0 : boards.length - 1);
    }
    const moves = [...play.querySelectorAll(".moves li")];
    const current = moves.filter((move) => Number(move.dataset.at) <= at(board)).pop(); // after it chance may have drawn
    for (const move of moves) {
      const isShown = move === current;
      isShown ? move.setAttribute("aria-current", "step") : move.removeAttribute("aria-current");
      const list = move.parentElement;
      if (isShown) list.scrollTop = move.offsetTop - list.clientHeight / 2;
    }
    const clocks = (board.dataset.clocks || "").split(" ");
    play.querySelectorAll(".clock").forEach((clock, seat) => clocks[seat] && (clock.textContent = clocks[seat]));
  }

  const steps = {
    first: () => show(0),
    previous: () => show(shown - 1),
    next: () => show(shown + 1),
    last: () => show(boards.length - 1),
  };

  function begin(fresh) {
    const isFollowing = !play || shown === boards.length - 1;
    const before = boards;
    play = fresh;
    const holder = play.querySelector(".boards");
    const first = holder?.querySelector("figure");
    // A piece of the feed has the last board alone.
    if (first) holder.prepend(...before.filter((board) => at(board) < at(first)));
    boards = [...play.querySelectorAll("figure")];
    const stepper = play.querySelector(".stepper");
    if (stepper) stepper.hidden = boards.length < 2;
    play.classList.add("stepping");
    show(isFollowing ? boards.length - 1 : shown);
  }

  function tick() {
    for (const clock of document.querySelectorAll(".clock[data-left]")) {
      const left = Math.max(0, clock.dataset.left - 1);
      clock.dataset.left = left;
      clock.textContent = Math.floor(left / 60) + ":" + String(left % 60).padStart(2, "0");
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    const first = document.querySelector(".play");
    if (first) begin(first);
    document.addEventListener("put", ({ detail }) => detail.classList.contains("play") && begin(detail));
    document.addEventListener("click", (event) => {
      const step = event.target.closest("[data-step]")?.dataset.step;
      const move = event.target.closest(".moves li");
      if (step) steps[step]();
      if (event.target.disabled) play.querySelector(".boards")?.focus(); // it would lose the next key
      if (move) show(boards.findIndex((board) => at(board) === Number(move.dataset.at)));
    });
    document.addEventListener("keydown", (event) => {
      const step = KEYS[event.key];
      const isElsewhere = event.target === document.body && event.key.startsWith("Arrow");
      if (!step || !play || !(isElsewhere || play.contains(event.target)) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      steps[step]();
      play.querySelector(".boards")?.focus();
    });
    setInterval(tick, 1000);
  });
})();
