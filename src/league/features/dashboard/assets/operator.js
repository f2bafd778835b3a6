// The operator's orders: sent with the admin token, which this tab keeps until it is closed and nobody else sees.
(function () {
  "use strict";
  const KEPT = "league-admin-token";
  let token = "";

  function recall() {
    try { token = sessionStorage.getItem(KEPT) || ""; } catch { /* no storage: the token is typed on every page */ }
  }

  function keep(text) {
    token = text;
    try { if (text) sessionStorage.setItem(KEPT, text); else sessionStorage.removeItem(KEPT); } catch { /* as above */ }
    unlock();
  }

  function unlock() {
    document.getElementById("orders").disabled = !token;
    document.getElementById("forget").disabled = !token;
  }

  function tell(text, isRefused) {
    const sign = document.getElementById("order-answer");
    sign.textContent = text;
    sign.classList.toggle("refused", isRefused);
  }

  function targetOf(button) {
    const field = button.dataset.field ? document.getElementById(button.dataset.field) : null;
    return field ? field.value.trim() : button.dataset.target || "";
  }

  async function give(button) {
    const order = button.dataset.order;
    const target = targetOf(button);
    const named = (order + " " + target).trim();
    if (button.dataset.confirm && !confirm(button.dataset.confirm + (target ? " (" + target + ")" : ""))) return;
    tell(named + " …", false);
    try {
      const answer = await fetch("/api/admin/" + order, {
        method: "POST",
        headers: { "Authorization": "Bearer " + token, "Content-Type": "application/json" },
        body: JSON.stringify(target ? { target } : {}),
      });
      if (answer.ok) tell(named + ": done.", false);
      else tell(named + ": " + (await answer.json()).error + ".", true);
    } catch {
      tell(named + ": there was no answer; check whether it was carried out before you repeat the order.", true);
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    recall();
    unlock();
    document.getElementById("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = document.getElementById("admin-token");
      keep(field.value.trim());
      field.value = "";
      tell(token ? "This tab now has a token." : "Enter the admin token first.", !token);
    });
    document.getElementById("forget").addEventListener("click", () => {
      keep("");
      tell("This tab has forgotten the token.", false);
    });
    document.getElementById("orders").addEventListener("click", (event) => {
      const button = event.target.closest("button[data-order]");
      if (button) give(button);
    });
  });
})();
