"""remote: URLs in, local copies of the logs behind them out.

A mirror is a directory in the user's cache that holds the logs of one remote directory. The rest of `read` reads it
like any other log directory. docs/design/remote.md has the reasons.

url.py           the URLs that are accepted
store.py         what a remote directory must be able to do: list itself, and read a file from a byte on
stores.py        which store is behind a URL
object_store.py  s3://, gs:// and az:// (aws_profile.py: credentials from `aws configure`)
ssh_store.py     ssh://, over the protocol in sftp.py
wanted.py        which of the listed files are logs
mirror.py        Mirror: fetches what is new, and removes what is gone
fetch.py         one file: its new bytes, or all of it
mirror_files.py  the files of a mirror on disk; names that would lead out of it are refused
cache_limit.py   the size of all mirrors together
follow.py        how often to list, and the threads that do it
"""
