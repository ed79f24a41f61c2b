from units import style


def metres(value):
    return f"{value:.2f} m".replace(".", style.decimal_mark)
