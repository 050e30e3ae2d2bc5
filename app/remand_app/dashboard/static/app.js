// Remand's dashboard: theme, keyboard, live refresh. Pages work without it.
"use strict";
(() => {
  const root = document.documentElement;
  const kept = localStorage.getItem("remand-theme");
  if (kept) root.dataset.theme = kept;

  document.addEventListener("DOMContentLoaded", () => {
    const theme = document.getElementById("theme");
    if (theme) {
      theme.hidden = false;
      theme.addEventListener("click", () => {
        const dark = root.dataset.theme
          ? root.dataset.theme === "dark"
          : matchMedia("(prefers-color-scheme: dark)").matches;
        root.dataset.theme = dark ? "light" : "dark";
        localStorage.setItem("remand-theme", root.dataset.theme);
      });
    }
    // On a phone the navigation scrolls: show where one is.
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    listen();
  });

  // Live: the server says that something changed, the page fetches its live part again.
  const REFUSED_SECONDS = 30;
  let source = null;
  function refresh() {
    // Each refresh puts a new element in its place.
    const live = document.getElementById("live");
    // What somebody is typing, or has opened, is not taken away.
    const busy = live.contains(document.activeElement) && /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName);
    if (!busy && !live.querySelector("details.act[open]")) htmx.trigger(live, "changed");
  }
  function listen() {
    if (!document.getElementById("live") || !window.EventSource) return;
    const connect = () => {
      if (source || document.hidden) return;
      // What changed since the page was made is told at once.
      const { live, mark } = document.getElementById("live").dataset;
      source = new EventSource(`${live}?seen=${mark}`);
      source.addEventListener("changed", refresh);
      source.addEventListener("error", () => {
        // The browser comes back by itself from a broken connection, but not from a refusal.
        if (source?.readyState !== EventSource.CLOSED) return;
        source = null;
        setTimeout(() => { refresh(); connect(); }, REFUSED_SECONDS * 1000);
      });
    };
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && source) { source.close(); source = null; } else connect();
    });
    // An answer without a live part is the way to sign in: show it whole.
    document.addEventListener("htmx:beforeSwap", (event) => {
      if (event.detail.target.id !== "live" || event.detail.xhr.responseText.includes('id="live"')) return;
      event.detail.shouldSwap = false;
      location.reload();
    });
    connect();
  }

  // Keyboard: j and k choose, Enter opens, n notes, r redrives, / searches.
  const items = () => [...document.querySelectorAll("[data-item]")];
  let chosen = null;
  function choose(step) {
    const all = items();
    if (!all.length) return;
    const now = all.findIndex((one) => one.dataset.item === chosen);
    const next = all[Math.max(0, Math.min(all.length - 1, now + step))];
    chosen = next.dataset.item;
    mark();
    next.scrollIntoView({ block: "nearest" });
    (next.matches("a") ? next : next.querySelector("a"))?.focus({ preventScroll: true });
  }
  function mark() {
    for (const one of items()) {
      if (one.dataset.item === chosen) one.setAttribute("aria-selected", "true");
      else one.removeAttribute("aria-selected");
    }
  }
  document.addEventListener("htmx:afterSettle", mark);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
    const open = (attribute) => {
      const one = items().find((item) => item.dataset.item === chosen);
      const target = one?.dataset[attribute] || document.querySelector(`[data-page-${attribute}]`)?.getAttribute(`data-page-${attribute}`);
      if (target) { location.href = target; event.preventDefault(); }
    };
    switch (event.key) {
      case "j": choose(1); event.preventDefault(); break;
      case "k": choose(-1); event.preventDefault(); break;
      case "r": open("redrive"); break;
      case "n": {
        const box = document.getElementById("note");
        if (box) { box.focus(); event.preventDefault(); } else open("note");
        break;
      }
      case "/": document.getElementById("search")?.focus(); event.preventDefault(); break;
      default:
    }
  });
})();
