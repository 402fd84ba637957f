// The explorer puts a link into the button that opens an operation, which a keyboard cannot tell apart from the button:
// the link loses its address, and the button does the same. Examples that are wider than their frame can be scrolled by
// keyboard. What is typed or chosen for a parameter has the parameter's name.
"use strict";

(function () {
  const LINKS = ".opblock-summary-control a[href], .opblock-summary-control [tabindex]";
  const PARAMETERS = "[data-param-name] :is(select, input, textarea):not([aria-label])";

  function mend() {
    for (const link of document.querySelectorAll(LINKS)) {
      link.removeAttribute("href");
      link.removeAttribute("tabindex");
    }
    for (const example of document.querySelectorAll(".swagger-ui pre:not([tabindex])")) {
      example.setAttribute("tabindex", "0");
    }
    for (const control of document.querySelectorAll(PARAMETERS)) {
      control.setAttribute("aria-label", control.closest("[data-param-name]").dataset.paramName);
    }
  }

  new MutationObserver(mend).observe(document.getElementById("swagger-ui"), { childList: true, subtree: true, attributes: true, attributeFilter: ["href", "tabindex"] });
})();
