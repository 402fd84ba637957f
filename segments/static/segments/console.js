// Small comforts; every page works without them. Keys: "/" goes to the search field, Ctrl+Enter runs the query.
"use strict";

(function () {
  function fill(sql) {
    const editor = document.getElementById("id_sql");
    editor.value = sql;
    editor.focus();
  }

  document.addEventListener("click", (event) => {
    const pick = event.target.closest("[data-sql]");
    if (pick) fill(pick.dataset.sql);
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      // Browsers give no clipboard to pages of plain HTTP from another machine: then it is marked, to be copied by hand.
      getSelection().selectAllChildren(source);
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy-link]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(location.href);
      say("Link copied");
    } catch {
      prompt("Copy this address:", location.href);
    }
  });

  // Also for who pressed a key, wherever the page is scrolled to.
  function say(text) {
    const announcer = document.getElementById("announcer");
    if (!announcer) return;
    announcer.textContent = text;
    announcer.classList.replace("hidden-text", "toast");
    setTimeout(() => announcer.classList.replace("toast", "hidden-text"), 2000);
  }

  // A menu closes when something else is clicked, and by Escape.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details[data-menu][open]")) if (!menu.contains(event.target)) menu.open = false;
  });

  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details[data-menu][open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      const search = document.querySelector("input[type=search]");
      if (search) {
        event.preventDefault();
        search.focus();
        search.select();
      }
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.id === "id_sql") {
      event.preventDefault();
      event.target.form.requestSubmit(document.getElementById("run-query"));
    }
  });

  document.addEventListener("submit", (event) => {
    if (event.target.method === "post" && event.target.hasAttribute("data-once")) {
      // A second click must not send the form twice; the answer brings a new page.
      if (event.target.dataset.sent) event.preventDefault();
      event.target.dataset.sent = "yes";
      event.target.setAttribute("aria-busy", "true");
    }
  });

  // A part that is replaced every second would be read out every second: only news goes to the live region.
  document.addEventListener("htmx:afterSettle", () => {
    const news = document.querySelector("[data-announce]");
    const announcer = document.getElementById("announcer");
    if (!news || !announcer) return;
    const text = news.textContent.replace(/\s+/g, " ").trim();
    if (announcer.textContent !== text) announcer.textContent = text;
  });

  // Times to come are shown in the browser's zone where the reader has chosen none; without this script they are UTC.
  function showLocalTimes() {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    document.querySelectorAll("time[data-local]").forEach((shown) => {
      const timeStyle = shown.dataset.local === "seconds" ? "medium" : "short";
      const form = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle });
      shown.title = shown.title || shown.textContent;
      shown.textContent = `${form.format(new Date(shown.dateTime))} (${zone})`;
      shown.removeAttribute("data-local");
    });
  }

  document.addEventListener("htmx:afterSettle", showLocalTimes);

  // The zone of the browser is offered; times are made in it by the server, once it is chosen.
  function offerOwnZone() {
    const button = document.getElementById("own-zone");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!button || !zone || zone === "UTC") return;
    button.value = zone;
    button.textContent = `Show times of ${zone}`;
    button.hidden = false;
  }

  window.addEventListener("pageshow", (event) => {
    if (event.persisted) document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
  });

  // On a phone the bar and the tabs scroll sideways: the current one is brought into sight.
  function showCurrent() {
    document.querySelectorAll(".nav [aria-current], .tabs [aria-current]").forEach((link) => {
      const row = link.parentElement;
      if (row.scrollWidth > row.clientWidth) row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    showCurrent();
    showLocalTimes();
    offerOwnZone();
    const wrong = document.querySelector("[data-focus]");
    if (wrong) wrong.focus();
  });
})();
