// "?" shows what the keyboard does; "g" and a letter go to a page, "j" and "k" through the rows of a list.
"use strict";

(function () {
  const WAIT_MS = 1500;
  let began = 0;

  const dialog = () => document.getElementById("keys");

  function isTyped(event) {
    return event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]:not(#keys)");
  }

  function open() {
    if (!dialog().open) dialog().showModal();
  }

  /** The link of the next or previous row of the page's first list. */
  function move(step) {
    const links = [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("a[href]")).filter(Boolean);
    if (!links.length) return;
    const row = document.activeElement.closest("tr");
    const at = links.findIndex((link) => link.closest("tr") === row);
    links[at < 0 ? (step > 0 ? 0 : links.length - 1) : (at + step + links.length) % links.length].focus();
  }

  document.addEventListener("keydown", (event) => {
    if (!dialog() || isTyped(event)) return;
    const isSecond = Date.now() - began < WAIT_MS;
    began = 0;
    const link = isSecond && /^[a-z]$/.test(event.key) && dialog().querySelector(`[data-key="${event.key}"]`);
    if (link) location.assign(link.href);
    else if (event.key === "g") began = Date.now();
    else if (event.key === "?") open();
    else if (dialog().open) return;
    else if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
    else if (event.key === "c") document.querySelector("[data-copy-link]")?.click();
    else return;
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("#keys-open")) open();
    else if (event.target.closest("#keys-close") || event.target === dialog()) dialog().close();
  });

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("keys-open");
    if (button) button.hidden = false;
  });
})();
