// Finds out what lies over the middle of an element: itself, something of it, or something else.
function () {
  const element = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  if (!element || !element.isConnected) return "changed";
  const range = element.ownerDocument.createRange();
  range.selectNode(this);
  const all = this === element ? element.getClientRects() : range.getClientRects();
  const rect = [...all].find((rect) => rect.width > 0 && rect.height > 0);
  if (!rect || getComputedStyle(element).visibility !== "visible") return "hidden";
  const { clientWidth, clientHeight } = element.ownerDocument.documentElement;
  const x = (Math.max(rect.left, 0) + Math.min(rect.right, clientWidth)) / 2;
  const y = (Math.max(rect.top, 0) + Math.min(rect.bottom, clientHeight)) / 2;
  const root = element.getRootNode();
  const hit = root.elementFromPoint ? root.elementFromPoint(x, y) : element;
  if (!hit) return "hidden";
  const label = hit.closest("label");
  const isOwn = hit.contains(element) || element.contains(hit) || (label && label.control === element);
  if (isOwn) return "";
  const text = (hit.getAttribute("aria-label") || hit.innerText || "").trim().slice(0, 80);
  return `covered:${hit.localName}${text ? ` "${text}"` : ""}`;
}
