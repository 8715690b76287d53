import { spawnSync } from 'node:child_process'

/**
 * Mounts a tmpfs of 256 KiB on an empty folder. Returns a function that unmounts it; undefined when this user may
 * not mount.
 */
export function mountSmallDisk(folder: string): (() => void) | undefined {
  const words = ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]
  if (spawnSync('mount', words).status !== 0) return undefined
  return () => void spawnSync('umount', [folder])
}
