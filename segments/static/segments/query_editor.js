// The query editor: tables and columns at the side, completion by keyboard, formatting. Runs without any of it, too.
"use strict";

(function () {
  const WORD = /[\w$]+$/;
  const MOST = 12;
  const columnsOf = new Map();
  let editor, list, side, words, shown = [], chosen = 0, asked = 0, isRunning = false;

  async function getJson(params) {
    const answer = await fetch(`${side.dataset.url}?${new URLSearchParams(params)}`, { headers: { Accept: "application/json" } });
    return answer.ok ? answer.json() : {};
  }

  /** Columns of a table, asked for once. */
  function columns(table) {
    if (!columnsOf.has(table)) columnsOf.set(table, getJson({ table }).then((found) => found.columns || [], () => []));
    return columnsOf.get(table);
  }

  function quoted(name) {
    return /^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
  }

  function put(text, from = editor.selectionStart) {
    editor.focus();
    editor.setRangeText(text, from, editor.selectionEnd, "end");
    editor.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // The side

  function button(text, note, insert) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "query-column";
    made.dataset.insert = insert;
    made.append(text);
    if (note) {
      const type = document.createElement("span");
      type.className = "muted";
      type.textContent = note;
      made.append(" ", type);
    }
    return made;
  }

  function item(child) {
    const made = document.createElement("li");
    made.append(child);
    return made;
  }

  async function open(details) {
    if (!details.open || details.querySelector("ul")) return;
    const found = document.createElement("ul");
    details.append(found);
    const name = details.dataset.table;
    found.append(item(button("insert the table's name", "", quoted(name))));
    for (const column of await columns(name)) found.append(item(button(column.name, column.type, quoted(column.name))));
  }

  async function search() {
    const turn = ++asked;
    const found = await getJson({ q: side.value.trim() });
    if (turn !== asked || !found.tables) return;
    const made = found.tables.map((name) => {
      const details = document.createElement("details");
      const summary = document.createElement("summary");
      details.dataset.table = name;
      summary.textContent = name;
      details.append(summary);
      return item(details);
    });
    if (!made.length) made.push(item("No table that you may read has this in its name."));
    document.getElementById("query-tables").replaceChildren(...made);
    document.getElementById("query-more").hidden = !found.hasMore;
  }

  // Completion

  /** {alias or name: table} of what FROM and JOIN name. */
  function named() {
    const found = new Map();
    const pattern = /\b(?:from|join)\s+("([^"]+)"|[\w.]+)(?:\s+(?:as\s+)?(?!on\b|where\b|join\b|left\b|right\b|full\b|inner\b|cross\b|group\b|order\b|limit\b|having\b|using\b|union\b)(\w+))?/gi;
    for (const match of editor.value.matchAll(pattern)) {
      const table = match[2] || match[1];
      found.set(table, table);
      if (match[3]) found.set(match[3], table);
    }
    return found;
  }

  async function candidates(before, word) {
    const begin = word.toLowerCase();
    const fits = (name) => name.toLowerCase().startsWith(begin) && name.toLowerCase() !== begin;
    const rest = before.slice(0, before.length - word.length);
    const alias = rest.match(/(?:"([^"]+)"|(\w+))\.$/);
    const tables = named();
    if (alias) {
      const table = tables.get(alias[1] || alias[2]);
      return table ? (await columns(table)).filter((c) => fits(c.name)).map((c) => [quoted(c.name), c.type]) : [];
    }
    if (/\b(from|join)\s+"?$/i.test(rest)) {
      const found = await getJson({ q: word });
      return (found.tables || []).filter((n) => n.toLowerCase() !== begin).map((n) => [quoted(n), "table"]);
    }
    const all = [];
    for (const table of new Set(tables.values())) {
      for (const column of await columns(table)) if (fits(column.name)) all.push([quoted(column.name), column.type]);
    }
    for (const name of words.functions) if (fits(name)) all.push([`${name}(`, "function"]);
    for (const name of words.keywords) if (word && fits(name)) all.push([name, "keyword"]);
    return all;
  }

  function close() {
    shown = [];
    list.hidden = true;
    editor.setAttribute("aria-expanded", "false");
    editor.removeAttribute("aria-activedescendant");
  }

  function mark(at) {
    chosen = (at + shown.length) % shown.length;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === chosen)));
    editor.setAttribute("aria-activedescendant", `completion-${chosen}`);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  }

  async function complete(isAsked) {
    const turn = ++asked;
    const before = editor.value.slice(0, editor.selectionStart);
    const word = (before.match(WORD) || [""])[0];
    if (!isAsked && word.length < 2 && !before.endsWith(".")) return close();
    const found = await candidates(before, word);
    if (turn !== asked) return;
    shown = found.filter(([text], i) => found.findIndex(([other]) => other === text) === i).slice(0, MOST);
    if (!shown.length) return close();
    list.replaceChildren(
      ...shown.map(([text, note], i) => {
        const option = item(button(text, note, text));
        option.id = `completion-${i}`;
        option.setAttribute("role", "option");
        option.firstChild.tabIndex = -1;
        option.replaceChildren(...option.firstChild.childNodes);
        return option;
      }),
    );
    list.hidden = false;
    editor.setAttribute("aria-expanded", "true");
    mark(0);
  }

  function accept(at) {
    const word = (editor.value.slice(0, editor.selectionStart).match(WORD) || [""])[0];
    put(shown[at][0], editor.selectionStart - word.length);
    close();
  }

  function onKey(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      complete(true);
    } else if (shown.length && !event.ctrlKey && !event.metaKey) {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves) mark(chosen + moves[event.key]);
      else if (event.key === "Enter" || event.key === "Tab") accept(chosen);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    }
  }

  // Snapshots

  /** Those of the tables that the text names are read while they are shown, and again only when it names others. */
  function snapshots() {
    const choice = document.getElementById("query-snapshots");
    let read = choice.dataset.read === "yes" ? wanted() : null;
    function wanted() {
      const option = editor.value.match(/\bsnapshot\s*=\s*'?[\w:-]+/i);
      return [...new Set(named().values()), option && option[0]].join("\n");
    }
    function look() {
      if (!choice.parentElement.open || wanted() === read) return;
      read = wanted();
      choice.dispatchEvent(new CustomEvent("tables-changed"));
    }
    choice.parentElement.addEventListener("toggle", look);
    editor.addEventListener("change", look);
  }

  // Failures

  /** htmx swaps only successful answers: without a word the last result would be taken for this one's. */
  function failed(event) {
    if (event.target.id !== "query-form") return;
    const problem = document.getElementById("query-problem");
    const status = event.detail.xhr ? event.detail.xhr.status : 0;
    problem.textContent = status ? `The server answered with an error (${status}), so there is no result. Its log says more.` : "The server did not answer, so there is no result.";
    problem.hidden = false;
    document.getElementById("result").replaceChildren();
  }

  function begun(event) {
    if (event.target.id !== "query-form") return;
    document.getElementById("query-problem").hidden = true;
    isRunning = true;
  }

  function ended(event) {
    if (event.target.id === "query-form") isRunning = false;
  }

  // Leaving

  /** Nobody reads the answer any more: what runs is cancelled, as by the button. A beacon outlives its page. */
  function leave() {
    const cancel = document.getElementById("cancel-query");
    if (!isRunning || !cancel) return;
    const all = new FormData(editor.form), sent = new FormData();
    for (const name of ["csrfmiddlewaretoken", "query"]) sent.append(name, all.get(name));
    navigator.sendBeacon(cancel.getAttribute("hx-post"), sent);
  }

  // Formatting

  async function format(button) {
    const problem = document.getElementById("format-problem");
    const answer = await fetch(button.dataset.url, { method: "POST", body: new FormData(editor.form) });
    const found = await answer.json().catch(() => ({ message: "The server did not answer." }));
    problem.hidden = answer.ok;
    problem.textContent = answer.ok ? "" : found.message;
    if (answer.ok) {
      editor.select();
      put(found.sql);
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    editor = document.getElementById("id_sql");
    list = document.getElementById("completions");
    side = document.getElementById("query-search");
    words = JSON.parse(document.getElementById("query-words").textContent);
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", "completions"], ["aria-haspopup", "listbox"]]) editor.setAttribute(name, value);
    editor.addEventListener("keydown", onKey);
    editor.addEventListener("input", () => complete(false));
    let leaving = 0;
    editor.addEventListener("blur", () => (leaving = setTimeout(close, 150)));
    editor.addEventListener("focus", () => clearTimeout(leaving));
    list.addEventListener("mousedown", (event) => {
      const option = event.target.closest("[role=option]");
      event.preventDefault();
      if (option) accept([...list.children].indexOf(option));
    });
    let waiting = 0;
    side.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(search, 200);
    });
    document.getElementById("query-tables").addEventListener("toggle", (event) => open(event.target), true);
    document.addEventListener("click", (event) => {
      const picked = event.target.closest("[data-insert]");
      if (picked) put(picked.dataset.insert);
    });
    document.getElementById("query-name").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // The form's first button would run the query.
      event.target.nextElementSibling.click();
    });
    document.addEventListener("htmx:responseError", failed);
    document.addEventListener("htmx:sendError", failed);
    document.addEventListener("htmx:beforeRequest", begun);
    document.addEventListener("htmx:afterRequest", ended);
    window.addEventListener("pagehide", leave);
    snapshots();
    const button = document.getElementById("format-query");
    button.hidden = false;
    button.addEventListener("click", () => format(button));
  });
})();
