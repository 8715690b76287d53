const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EADDRINUSE: 'another process already uses it',
  EADDRNOTAVAIL: 'it is not an address of this machine',
  EAI_AGAIN: 'its name cannot be resolved',
  EEXIST: 'it is not a folder',
  EISDIR: 'it is a folder',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  ENOTFOUND: 'its name cannot be resolved',
  EPERM: 'this user has no permission',
  EROFS: 'the disk is read-only',
}

/** The reason of a system error, in plain words without a full stop. */
export function systemReason(error: unknown): string {
  // System errors have a code; other errors may have none.
  const { code = '', message = String(error) } = error as { code?: string; message?: string }
  return reasons[code] ?? message.split('\n', 1)[0]!.replace(/\.$/, '')
}
