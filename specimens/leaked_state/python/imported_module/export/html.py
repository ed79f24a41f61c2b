from export.formats import register


def writer(row):
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"


register("html", writer)
