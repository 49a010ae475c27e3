// Support of the tests in a page: locators as a person has them, and waits for changes of the document.
(() => {
  const violations = [];
  addEventListener('securitypolicyviolation', (e) => violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`), true);
  const shown = (el) => el.checkVisibility({ visibilityProperty: true }) && el.getClientRects().length > 0;
  const named = (el) => [el.innerText, el.getAttribute('aria-label'), el.getAttribute('placeholder'), el.title, el.textContent].join('\n');
  // Exact names win, so that "Send" does not find "Send the change".
  const find = (css, text) => {
    const all = [...document.querySelectorAll(css)].filter((el) => shown(el) && !el.disabled);
    return all.find((el) => el.innerText?.trim() === text) ?? all.find((el) => named(el).includes(text));
  };
  // A place in the element that nothing covers.
  const place = (css, text) => {
    const el = find(css, text);
    if (!el) return undefined;
    el.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const r = el.getBoundingClientRect();
    const at = [r.x + r.width / 2, r.y + r.height / 2];
    const top = document.elementFromPoint(at[0], at[1]);
    return top && (el === top || el.contains(top) || top.contains(el) && top.closest('label')) ? at : undefined;
  };
  const until = (test) => new Promise((done) => {
    const check = () => {
      let value;
      try {
        value = test();
      } catch (error) {
        globalThis.__page.last = String(error);
      }
      if (!value) return;
      observer.disconnect();
      for (const name of events) removeEventListener(name, check, true);
      done(value);
    };
    const events = ['input', 'change', 'focusin', 'focusout', 'close', 'toggle', 'scroll', 'resize', 'popstate', 'animationend', 'transitionend', 'load'];
    const observer = new MutationObserver(check);
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    for (const name of events) addEventListener(name, check, true);
    check();
  });
  globalThis.__page = { violations, find, place, until, shown, last: '' };
})();
