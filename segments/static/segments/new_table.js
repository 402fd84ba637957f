// Sends a chosen or dropped file as it is, with its progress; and keeps what is typed and opened when the draft is replaced.
"use strict";

(function () {
  const form = document.querySelector("form[data-upload]");
  const ENDINGS = /\.(gz|gzip|zst|bz2|csv|tsv|txt|json|jsonl|ndjson|parquet|orc|avro)$/i;

  function tableName(fileName) {
    let stem = fileName;
    while (ENDINGS.test(stem)) stem = stem.replace(ENDINGS, "");
    const name = stem.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").replace(/[^A-Za-z0-9_]+/g, "_").replace(/^_+|_+$/g, "").toLowerCase().slice(0, 100);
    // As the server names it: queries need no quotes.
    return /^\d/.test(name) || form.dataset.reserved.split(" ").includes(name) ? `t_${name}` : name;
  }

  function complain(text) {
    const place = form.querySelector("[data-upload-error]");
    place.querySelector("span").textContent = text;
    place.hidden = !text;
    form.removeAttribute("aria-busy");
    delete form.dataset.sent;
    form.querySelector("[data-upload-state]").hidden = true;
  }

  function send(file) {
    const name = form.elements.name.value.trim() || tableName(file.name) || "new_table";
    const request = new XMLHttpRequest();
    const state = form.querySelector("[data-upload-state]");
    request.open("POST", `${form.dataset.upload}?${new URLSearchParams({ name: file.name, tableName: name })}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    request.upload.addEventListener("progress", (event) => {
      const percent = event.lengthComputable ? Math.floor((100 * event.loaded) / event.total) : 0;
      state.hidden = false;
      state.querySelector("progress").value = percent;
      state.querySelector("span").textContent = percent < 100 ? `${percent} % sent` : "Sent; reading its beginning…";
    });
    request.addEventListener("error", () => complain("The upload was interrupted. Try it again."));
    request.addEventListener("load", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // no JSON: the status says it
      }
      if (request.status === 201) location.assign(`${form.dataset.design}?${new URLSearchParams({ upload: answer.upload, name })}`);
      else complain(answer.error || answer.detail || `The upload was refused with ${request.status}.`);
    });
    request.send(file);
  }

  if (form) {
    const input = form.elements.file;
    const zone = form.querySelector("[data-drop]");
    form.querySelector("[data-drop-hint]").hidden = false;
    for (const kind of ["dragover", "dragleave", "drop"]) {
      zone.addEventListener(kind, (event) => {
        event.preventDefault();
        zone.classList.toggle("drop-over", kind === "dragover");
        if (kind === "drop" && event.dataTransfer.files.length) {
          input.files = event.dataTransfer.files;
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }
      });
    }
    const nameIt = () => {
      if (input.files.length && !form.elements.name.value) form.elements.name.value = tableName(input.files[0].name);
    };
    input.addEventListener("change", nameIt);
    nameIt();
    form.addEventListener("submit", (event) => {
      if (!input.files.length || form.elements.address.value.trim()) return;
      event.preventDefault();
      complain("");
      form.setAttribute("aria-busy", "true");
      send(input.files[0]);
    });
  }

  // On a slow line a person is faster than the scripts: what was changed before they came is sent now.
  const isChanged = (field) => {
    if (field instanceof HTMLSelectElement) return field.selectedIndex !== Math.max(0, [...field.options].findLastIndex((option) => option.defaultSelected));
    return field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  };
  window.addEventListener("load", () => {
    const draft = document.getElementById("draft");
    const fields = draft ? [...draft.querySelectorAll("input, select, textarea")] : [];
    fields.find(isChanged)?.dispatchEvent(new Event("change", { bubbles: true }));
  });

  const texts = () => new URLSearchParams(new FormData(document.getElementById("draft"))).toString();
  let sent = "";

  // What a change in the one form means for the other is known when it is answered; until then that one waits, since of
  // two changes at once the JSON would count alone.
  const others = (isText) => document.querySelectorAll(isText ? "#grid-scroll, #draft > section > .field, #draft .settings > .field" : "#documents .field");

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target.id !== "draft") return;
    sent = texts();
    const changed = event.detail.requestConfig.triggeringEvent?.target;
    for (const field of others(changed instanceof HTMLTextAreaElement)) field.inert = true;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.target.id === "draft") for (const field of [...others(true), ...others(false)]) field.inert = false;
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "draft") return;
    if (texts() !== sent) {
      // Somebody types on: what was typed would be lost with the old form. Its own change sends all of it.
      event.detail.shouldSwap = false;
      return;
    }
    const isOpen = document.getElementById("documents").open;
    const left = document.getElementById("grid-scroll").scrollLeft;
    document.addEventListener("htmx:afterSettle", () => {
      document.getElementById("documents").open ||= isOpen;
      document.getElementById("grid-scroll").scrollLeft = left;
    }, { once: true });
  });
})();
