// Ctrl+K (or Cmd+K) opens a search over everything that has a page; arrows choose, Enter goes there, Escape closes.
"use strict";

(function () {
  const WAIT_MS = 120;
  let timer = 0;
  let asked = 0;

  const dialog = () => document.getElementById("palette");
  const field = () => document.getElementById("palette-text");
  const list = () => document.getElementById("palette-list");
  const hits = () => [...list().querySelectorAll("[role=option]")];

  function choose(hit) {
    for (const one of hits()) one.setAttribute("aria-selected", String(one === hit));
    if (hit) {
      field().setAttribute("aria-activedescendant", hit.id);
      hit.scrollIntoView({ block: "nearest" });
    } else {
      field().removeAttribute("aria-activedescendant");
    }
  }

  function chosen() {
    return list().querySelector("[aria-selected=true]");
  }

  async function find() {
    const number = ++asked;
    const address = `${dialog().dataset.address}?q=${encodeURIComponent(field().value)}`;
    let text = "";
    try {
      const answer = await fetch(address, { headers: { "X-Palette": "1" }, redirect: "error" });
      text = answer.ok ? await answer.text() : "";
    } catch {
      // Without the server there is nothing to find; the text below says so.
    }
    if (number !== asked) return; // a later one is under way
    list().innerHTML = text || '<p class="palette-none">The search does not answer.</p>';
    choose(hits()[0]);
    document.getElementById("palette-count").textContent = `${hits().length} found`;
  }

  function open() {
    if (dialog().open) return;
    dialog().showModal();
    field().value = "";
    field().focus();
    find();
  }

  function move(step) {
    const all = hits();
    if (all.length) choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
  }

  document.addEventListener("keydown", (event) => {
    if (!dialog()) return;
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      open();
    } else if (event.target === field()) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        move(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (chosen()) location.assign(chosen().href);
      }
    }
  });

  document.addEventListener("input", (event) => {
    if (event.target !== field()) return;
    clearTimeout(timer);
    timer = setTimeout(find, WAIT_MS);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("#palette-open") && dialog()) {
      event.preventDefault();
      open();
    } else if (event.target === dialog()) {
      dialog().close();
    }
  });
})();
