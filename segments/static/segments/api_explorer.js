// The explorer puts a link into the button that opens an operation, which a keyboard cannot tell apart from the button:
// the link loses its address, and the button does the same.
"use strict";

(function () {
  const LINKS = ".opblock-summary-control a[href], .opblock-summary-control [tabindex]";

  function mend() {
    for (const link of document.querySelectorAll(LINKS)) {
      link.removeAttribute("href");
      link.removeAttribute("tabindex");
    }
  }

  new MutationObserver(mend).observe(document.getElementById("swagger-ui"), { childList: true, subtree: true, attributes: true, attributeFilter: ["href", "tabindex"] });
})();
