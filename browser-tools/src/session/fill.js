// Prepares a field for a new text, or sets it where keys cannot write it.
function (text) {
  const element = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  if (!element || !element.isConnected) return "changed";
  if (element.disabled || element.readOnly) return "disabled";
  const set = ["color", "date", "datetime-local", "month", "range", "time", "week"];
  const other = ["button", "checkbox", "file", "hidden", "image", "radio", "reset", "submit"];
  if (element.localName === "input" && other.includes(element.type)) return "not field";
  element.focus();
  if (element.localName === "input" && set.includes(element.type)) {
    element.value = text;
    if (element.value !== text) return "not value";
    element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return "done";
  }
  if (element.localName === "input" || element.localName === "textarea") {
    element.select();
    return "type";
  }
  if (!element.isContentEditable) return "not field";
  element.ownerDocument.getSelection().selectAllChildren(element);
  return "type";
}
