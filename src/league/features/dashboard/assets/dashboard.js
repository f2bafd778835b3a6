// Theme and projector for every page; the league page also follows its feed, or looks back into its journal.
(function () {
  "use strict";
  const root = document.documentElement;
  const THEME = "league-theme";

  function remembered() {
    try { return localStorage.getItem(THEME); } catch { return null; } // private windows may have no storage
  }

  function dress(theme) {
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  }

  function switchTheme() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    dress(dark ? "light" : "dark");
    try { localStorage.setItem(THEME, root.dataset.theme); } catch { /* it holds until the page is left */ }
  }

  const asked = new URLSearchParams(location.search);
  dress(asked.get("theme") || remembered());
  root.classList.toggle("projector", asked.has("projector"));

  // --- the feed ------------------------------------------------------------------------------------------------------

  const RELOAD_MS = 1500;
  let position = "";
  let port = null;
  let reload = 0;

  function element(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  }

  // Cells are as large as the window lets them be; a style sheet cannot count them.
  function measure(part) {
    for (const board of part.querySelectorAll(".board")) {
      const rows = board.tBodies[0].rows;
      board.style.setProperty("--rows", rows.length);
      board.style.setProperty("--columns", rows[0].querySelectorAll("td").length);
    }
  }

  // A piece takes the place of the one with its id; who was on a link in it stays there.
  function put(id, html) {
    const fresh = element(html);
    measure(fresh);
    const old = document.getElementById(id);
    if (!old) return fresh;
    const link = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : undefined;
    old.replaceWith(fresh);
    const same = [...fresh.querySelectorAll("a")].find((one) => one.getAttribute("href") === link);
    if (link !== undefined) (same || fresh.querySelector("[tabindex]"))?.focus({ preventScroll: true });
    fresh.classList.add("changed");
    document.dispatchEvent(new CustomEvent("put", { detail: fresh }));
    return fresh;
  }

  // A frame has the changed pieces by their ids, and for every list that changed the ids in it, in order.
  function show(frame) {
    const fresh = new Map();
    for (const [id, html] of Object.entries(frame.pieces)) fresh.set(id, put(id, html));
    for (const [name, ids] of Object.entries(frame.lists)) {
      const list = document.getElementById(name);
      if (list) arrange(list, ids, fresh);
    }
    tell(true);
    document.dispatchEvent(new Event("shown"));
  }

  function arrange(list, ids, fresh) {
    const active = document.activeElement;
    const wanted = new Set(ids);
    for (const one of [...list.children]) if (!wanted.has(one.id)) one.remove();
    ids.forEach((id, at) => {
      const one = document.getElementById(id) || fresh.get(id);
      if (one && list.children[at] !== one) list.insertBefore(one, list.children[at] || null);
    });
    if (active !== document.activeElement && list.contains(active)) active.focus(); // moving a row takes it away
  }

  function tell(isLive) {
    const sign = document.getElementById("feed");
    const running = document.querySelector(".LEAGUE_COMPLETED") ? "final" : "live";
    const text = isLive ? running : "no connection, trying again";
    if (!sign || sign.textContent === text) return;
    sign.textContent = text;
    sign.classList.toggle("lost", !isLive);
  }

  // The page of a match is loaded again when the match has changed, or the round is another.
  function hear({ data }) {
    if ("isLive" in data) return tell(data.isLive);
    if (!position) return; // who looks back has left, but may be told once more
    position = data.position;
    const frame = JSON.parse(data.frame);
    const awaited = "match-" + document.body.dataset.match;
    const isOver = awaited in frame.pieces || !(frame.lists.matches || [awaited]).includes(awaited);
    if (document.body.dataset.match && isOver) location.reload();
    else show(frame);
  }

  function follow() {
    if (port && position && !document.hidden) port.postMessage({ from: position });
  }

  function leave() {
    if (port) port.postMessage({});
  }

  // --- live matches ---------------------------------------------------------------------------------------------------

  const WATCH_MS = 10000;

  // Whoever looks at a match has its referee tell of it for a while.
  function watch(matchId) {
    if (position) fetch("/api/matches/" + encodeURIComponent(matchId), { method: "HEAD" }).catch(() => {});
  }

  // --- the projector -------------------------------------------------------------------------------------------------

  const PAGE_MS = 8000;

  let turn = -1;

  // One match of the round after the other; the next one is watched before it is shown.
  function turnBoards() {
    const playing = [...document.querySelectorAll("#matches > .ASSIGNED")].map((one) => one.id.replace("match-", ""));
    turn += 1;
    for (const next of new Set([turn, turn + 1].map((place) => playing[place % playing.length]))) {
      if (next) watch(next);
    }
    showBoard();
  }

  function showBoard() {
    const plays = [...document.querySelectorAll("#live > .play")];
    plays.forEach((play, place) => play.classList.toggle("shown", place === Math.max(turn, 0) % plays.length));
    fitAll();
  }

  const SMALLEST = 32; // a row that can be read from the last bench, in pixels
  const TALLEST = 92;
  const PLAIN = 20; // letters of this size need no further column
  const pages = new Map();

  // Rows fill the width in as many equal columns as make their letters largest; what does not fit is on further pages.
  function fit(list, narrowest) {
    const rows = [...list.children];
    const heading = document.getElementById(list.id + "-title");
    heading.hidden = false;
    heading.hidden = list.clientHeight < SMALLEST;
    const columns = Math.max(1, Math.floor(list.clientWidth / narrowest));
    const most = Math.max(1, Math.floor(list.clientHeight / SMALLEST)) * columns;
    const count = Math.max(1, Math.ceil(rows.length / most));
    const size = Math.ceil(rows.length / count);
    const isDense = rows.length > 12; // then three results of a player are shown, not five
    const letters = (used) => Math.min((list.clientHeight / Math.ceil(size / used)) * 0.52, list.clientWidth / used / (isDense ? 22 : 26), 38);
    let used = 1;
    for (let more = 2; more <= columns; more += 1) if (letters(used) < PLAIN && letters(more) > letters(used)) used = more;
    const page = (pages.get(list.id) || 0) % count;
    const height = Math.min(list.clientHeight / Math.ceil(size / used), TALLEST);
    list.style.gridTemplateRows = "repeat(" + Math.ceil(size / used) + ", " + height + "px)";
    list.style.gridTemplateColumns = "repeat(" + used + ", minmax(0, 1fr))";
    list.style.setProperty("--size", letters(used) + "px");
    list.classList.toggle("dense", isDense);
    rows.forEach((row, place) => row.classList.toggle("off-page", heading.hidden || Math.floor(place / size) !== page));
    const last = Math.min(rows.length, (page + 1) * size);
    heading.dataset.part = (last > page * size + 1 ? page * size + 1 + "–" : "") + last + " of " + rows.length;
    if (count < 2) delete heading.dataset.part;
  }

  function fitAll() {
    fit(document.getElementById("standings"), 330);
    fit(document.getElementById("matches"), 2000);
  }

  function turnPages() {
    for (const id of ["standings", "matches"]) pages.set(id, (pages.get(id) || 0) + 1);
    fitAll();
  }

  // --- history -------------------------------------------------------------------------------------------------------

  let isFetching = false;

  // The lists of the page become those of the league as it was; the slider stays, and who is on it too.
  function showPast(page, slider) {
    for (const list of document.querySelectorAll("[data-list]")) {
      list.replaceChildren(...page.getElementById(list.id).childNodes);
    }
    document.body.classList.add("past");
    slider.max = document.getElementById("history-now").dataset.last;
    describe(slider);
  }

  function describe(slider) {
    slider.setAttribute("aria-valuetext", document.getElementById("told").textContent);
  }

  // One moment at a time; of those wished for meanwhile, the last.
  async function lookBack(slider) {
    clearTimeout(reload);
    leave();
    position = "";
    if (isFetching) return;
    isFetching = true;
    let shown = "";
    while (shown !== slider.value) {
      shown = slider.value;
      const address = "?at=" + shown;
      try {
        const answer = await fetch(address);
        if (!answer.ok) throw new Error(answer.status);
        showPast(new DOMParser().parseFromString(await answer.text(), "text/html"), slider);
        history.replaceState(null, "", address);
      } catch {
        document.getElementById("told").textContent = "Event " + shown + " cannot be shown at the moment.";
      }
    }
    isFetching = false;
  }

  function offerHistory() {
    const slider = document.getElementById("moment");
    if (!slider) return;
    slider.hidden = false;
    describe(slider);
    slider.addEventListener("input", () => {
      document.getElementById("told").textContent = "Event " + slider.value + " of " + slider.max + " …";
    });
    slider.addEventListener("change", () => lookBack(slider));
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", switchTheme);
    measure(document);
    offerHistory();
    position = document.body.dataset.position || "";
    if (root.classList.contains("projector")) {
      setInterval(turnPages, PAGE_MS);
      setInterval(turnBoards, PAGE_MS);
      document.addEventListener("shown", showBoard);
      addEventListener("resize", fitAll);
      turnBoards();
    }
    if (document.body.dataset.match) setInterval(() => document.hidden || watch(document.body.dataset.match), WATCH_MS);
    if ("pending" in document.body.dataset) reload = setTimeout(() => location.reload(), RELOAD_MS);
    if (!position) return;
    port = feedPort();
    port.onmessage = hear;
    document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
    addEventListener("pagehide", leave);
    addEventListener("pageshow", (event) => event.persisted && follow());
    follow();
  });
})();
