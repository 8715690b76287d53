const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it',
  EADDRINUSE: 'something else listens there already',
  EADDRNOTAVAIL: 'it is no address of this machine',
  EAI_AGAIN: 'its name is not found',
  EEXIST: 'it is no folder',
  EISDIR: 'it is a folder',
  ENOENT: 'it is not there',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of it is no folder',
  ENOTFOUND: 'its name is not found',
  EPERM: 'this user may not use it',
  EROFS: 'the disk may only be read',
}

/** The reason of a system error, in plain words without a full stop. */
export function systemReason(error: unknown): string {
  // System errors have a code; others may not.
  const { code = '', message = String(error) } = error as { code?: string; message?: string }
  return reasons[code] ?? message.split('\n', 1)[0]!.replace(/\.$/, '')
}
