type Pruned<Members> = { [Name in keyof Members]?: NonNullable<Members[Name]> }

/** The members that are neither undefined nor null. */
export function prune<Members extends object>(members: Members): Pruned<Members> {
  const pruned: Pruned<Members> = {}
  for (const name in members) {
    const value = members[name]
    if (value !== undefined && value !== null) pruned[name] = value
  }
  return pruned
}
