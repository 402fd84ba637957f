// The explorer puts a link into the button that opens an operation, which a keyboard cannot tell apart from the button:
// the link loses its address, and the button does the same. Examples that are wider than their frame can be scrolled by
// keyboard.
"use strict";

(function () {
  const LINKS = ".opblock-summary-control a[href], .opblock-summary-control [tabindex]";

  function mend() {
    for (const link of document.querySelectorAll(LINKS)) {
      link.removeAttribute("href");
      link.removeAttribute("tabindex");
    }
    for (const example of document.querySelectorAll(".swagger-ui pre:not([tabindex])")) {
      example.setAttribute("tabindex", "0");
    }
  }

  new MutationObserver(mend).observe(document.getElementById("swagger-ui"), { childList: true, subtree: true, attributes: true, attributeFilter: ["href", "tabindex"] });
})();
