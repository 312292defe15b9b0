"""The workbench: a page in the browser where a table with holes becomes models that are asked and compared.

A client of the public names alone. `guard` keeps strangers out, `workspace` keeps everything on disk, `jobs`
and `worker` learn in processes of their own, `asking` answers clicks, `api` is what the page talks to, and
`service` is the same for one model (``lacunary serve``). Needs ``lacunary[workbench]``.
"""
