// Selects options of a list by their labels or values.
function (values) {
  const element = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  if (!element || !element.isConnected) return "changed";
  if (element.localName !== "select") return "not list";
  if (element.disabled) return "disabled";
  const plain = (text) => text.trim().replace(/\s+/g, " ");
  const options = [...element.options];
  const chosen = [];
  for (const value of values) {
    const fits = (option) => plain(option.label) === plain(value) || option.value === value;
    const option = options.find((option) => !option.disabled && fits(option));
    if (!option || (chosen.length > 0 && !element.multiple)) return `no option:${value}`;
    chosen.push(option);
  }
  element.focus();
  for (const option of options) option.selected = chosen.includes(option);
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  return "done";
}
