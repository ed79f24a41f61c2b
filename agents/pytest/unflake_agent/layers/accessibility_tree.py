"""Formats accessibility trees as lines: `role "name" state`, indented by depth."""

# Roles that structure a page and mean nothing to a person.
IGNORED_ROLES = frozenset(("none", "generic", "InlineTextBox", "LineBreak", "ListMarker", "LabelText", "MenuListPopup"))
STATES = "disabled", "checked", "pressed", "expanded", "selected", "required", "invalid", "readonly", "level", "modal"
ROLES_WITH_VALUE = frozenset(("textbox", "searchbox", "combobox", "spinbutton", "slider", "progressbar", "meter"))
# For browsers that do not expose their tree: the elements with a role of their own.
TREE_SCRIPT = """
const roles = {A: 'link', BUTTON: 'button', H1: 'heading', H2: 'heading', H3: 'heading', H4: 'heading', H5: 'heading',
  H6: 'heading', UL: 'list', OL: 'list', LI: 'listitem', NAV: 'navigation', MAIN: 'main', FORM: 'form', TABLE: 'table', TR: 'row',
  TD: 'cell', TH: 'columnheader', IMG: 'img', SELECT: 'combobox', OPTION: 'option', TEXTAREA: 'textbox', DIALOG: 'dialog'};
const kinds = {checkbox: 'checkbox', radio: 'radio', button: 'button', submit: 'button', range: 'slider', number: 'spinbutton'};
const lines = [];
const walk = (node, depth) => {
  if (node.nodeType === 3) {
    const text = node.textContent.replace(/\\s+/g, ' ').trim();
    if (text) lines.push('  '.repeat(depth) + 'text ' + JSON.stringify(text));
    return;
  }
  if (node.nodeType !== 1 || node.hidden || node.getAttribute('aria-hidden') === 'true') return;
  if (['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT'].includes(node.tagName) || getComputedStyle(node).display === 'none') return;
  let role = node.getAttribute('role') || roles[node.tagName];
  if (node.tagName === 'INPUT') role = kinds[node.type] || 'textbox';
  if (role) {
    const name = node.getAttribute('aria-label') || node.getAttribute('alt') || (node.labels && node.labels[0] || {}).innerText;
    let line = role + (name ? ' ' + JSON.stringify(name.trim()) : '');
    if (node.disabled) line += ' disabled';
    if (node.checked) line += ' checked';
    if (role === 'textbox' && node.type !== 'password' && node.value) line += ' value=' + JSON.stringify(node.value);
    lines.push('  '.repeat(depth) + line);
  }
  for (const child of node.childNodes) walk(child, depth + (role ? 1 : 0));
};
if (document.body) walk(document.body, 0);
return lines;
"""


def of_snapshot(text):
    """From a snapshot of Playwright."""
    lines = []
    for line in text.splitlines():
        inner = line.lstrip(" ")
        depth = len(line) - len(inner)
        if inner.startswith("- "):
            inner = inner[2:]
        lines.append(" " * depth + (inner[:-1] if inner.endswith(":") else inner))
    return lines


def of_chromium(nodes):
    """From the answer of Chromium to `Accessibility.getFullAXTree`."""
    known = {node["nodeId"]: node for node in nodes}
    lines = []
    pending = [(node["nodeId"], 0, "") for node in nodes if node.get("parentId") not in known][::-1]
    while pending:
        number, depth, parent_name = pending.pop()
        node = known.get(number)
        if node is None:
            continue
        role, name = _value(node, "role").replace("RootWebArea", "document"), _value(node, "name")
        if role == "StaticText":
            # Usually the name of its parent contains it already.
            if name.strip() and name.strip() not in parent_name:
                lines.append("  " * depth + "text " + _quoted(name))
            continue
        if not node.get("ignored") and role not in IGNORED_ROLES:
            lines.append("  " * depth + _line(node, role, name))
            depth, parent_name = depth + 1, name
        pending.extend((child, depth, parent_name) for child in node.get("childIds", ())[::-1])
    return lines


def _line(node, role, name):
    words = [role] + ([_quoted(name)] if name else [])
    properties = {one["name"]: one.get("value", {}).get("value") for one in node.get("properties", ())}
    for state in STATES:
        value = properties.get(state)
        if value is True or value == "true":
            words.append(state)
        elif value is not None and value is not False and value not in ("false", ""):
            words.append("%s=%s" % (state, value))
    value = _value(node, "value")
    if role in ROLES_WITH_VALUE and value:
        words.append("value=" + _quoted(value))
    return " ".join(words)


def _value(node, field):
    value = node.get(field, {}).get("value", "")
    return value if isinstance(value, str) else str(value)


def _quoted(text):
    return '"%s"' % " ".join(text.split()).replace('"', '\\"')
