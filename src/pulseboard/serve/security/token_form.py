"""The page for people without a token: a form that sends one, which never becomes part of an address."""

from __future__ import annotations

import base64
import hashlib

_STYLE = """
:root{color-scheme:light dark;--page:#f4f6f8;--card:#fff;--text:#1a2128;--dim:#56616c;--line:#8a949e;--accent:#0b6b83;
--on:#fff;--bad:#b3232f}
@media(prefers-color-scheme:dark){:root{--page:#12161a;--card:#1a1f24;--text:#e4e9ed;--dim:#9ca8b3;--line:#77828d;
--accent:#5cc3dc;--on:#06222a;--bad:#f58b92}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{box-sizing:border-box;width:min(420px,calc(100vw - 24px));padding:24px 28px;border-radius:12px;
background:var(--card);box-shadow:0 8px 28px rgb(20 30 40/18%)}
h1{margin:0 0 4px;font-size:20px}p{margin:8px 0;color:var(--dim)}
.wrong{color:var(--bad);font-weight:600}label{display:block;margin-top:14px;font-weight:600}
input{box-sizing:border-box;width:100%;margin-top:4px;padding:8px 10px;border:1px solid var(--line);border-radius:8px;
background:none;color:inherit;font:inherit}
input:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
button{width:100%;margin-top:14px;padding:9px;border:0;border-radius:8px;background:var(--accent);color:var(--on);
font:inherit;font-weight:600;cursor:pointer}code{font-size:13px}
"""
_FORM = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><main><h1>Pulseboard</h1>
{wrong}<p>This server requires a token. It is part of the link that the server printed when the token was created.</p>
<form method="post" action="{action}"><label>Token
<input type="password" name="token" autocomplete="current-password" required autofocus{invalid}></label>
<button>Open</button></form>
<p>No longer have it? Restart the server with <code>--new_token</code>.</p></main></body></html>
"""
_WRONG = '<p class="wrong" id="wrong" role="alert">Wrong token. Check that you copied all of it.</p>\n'

_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The only thing this page may load is its own style."""


def token_form(*, title: str, action: str, wrong: bool) -> str:
    """The form as HTML. `title` and `action` must be escaped."""
    return _FORM.format(
        title=title,
        style=_STYLE,
        action=action,
        wrong=_WRONG if wrong else "",
        invalid=' aria-invalid="true" aria-describedby="wrong"' if wrong else "",
    )
