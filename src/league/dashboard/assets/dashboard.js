// Theme and projector for every page; the league page also follows its feed.
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

  const RETRY_MS = 3000;
  let position = "";
  let source = null;
  let retry = 0;

  function element(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  }

  // A piece takes the place of the one with its id; who was on a link in it stays there.
  function put(id, html) {
    const fresh = element(html);
    const old = document.getElementById(id);
    if (!old) return fresh;
    const link = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    old.replaceWith(fresh);
    if (link !== null) [...fresh.querySelectorAll("a")].find((one) => one.getAttribute("href") === link)?.focus();
    fresh.classList.add("changed");
    return fresh;
  }

  // A frame has the changed pieces by their ids, and for every list that changed the ids in it, in order.
  function show(frame) {
    const fresh = new Map();
    for (const [id, html] of Object.entries(frame.pieces)) fresh.set(id, put(id, html));
    for (const [name, ids] of Object.entries(frame.lists)) arrange(document.getElementById(name), ids, fresh);
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

  function tell(text, isLost) {
    const sign = document.getElementById("feed");
    if (!sign || sign.textContent === text) return;
    sign.textContent = text;
    sign.classList.toggle("lost", isLost);
  }

  function open() {
    clearTimeout(retry);
    if (source || document.hidden) return; // browsers have six connections for us: a hidden page needs none
    source = new EventSource("/api/events?after=" + encodeURIComponent(position));
    source.onopen = () => tell("live", false);
    source.onmessage = (event) => {
      position = event.lastEventId;
      const frame = JSON.parse(event.data);
      const awaited = document.body.dataset.awaits;
      if (awaited) { if (awaited in frame.pieces) location.reload(); } else show(frame);
    };
    source.onerror = () => {
      tell("no connection, trying again", true);
      close();
      retry = setTimeout(open, RETRY_MS);
    };
  }

  function close() {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", switchTheme);
    position = document.body.dataset.position || "";
    if (!position) return;
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    addEventListener("pagehide", close);
    addEventListener("pageshow", open);
    open();
  });
})();
