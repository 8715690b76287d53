/** Files that the process needs beside its connections: the store, the log, its modules. */
const ownFiles = 64
/** More than these are to be asked for: each takes some kilobytes. */
const connectionsMost = 16_384

/**
 * How many connections of callers fit into the process's limit of open files. Half of it is left to
 * the connections to providers, since a call may need one each.
 */
export function connectionsFitting(): number {
  const fitting = Math.floor((openFilesMax() - ownFiles) / 2)
  return Math.max(1, Math.min(fitting, connectionsMost))
}

/** The limit of the system; infinite where it has none, or does not tell. */
function openFilesMax(): number {
  // Node's types leave this member out. Without it the report looks up the name of each address.
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  report.excludeNetwork = true
  // Node's types take any report for an object without members.
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } }
  const limit = Number(userLimits?.open_files?.soft)
  return Number.isNaN(limit) ? Infinity : limit
}
