type Pruned<Members> = { [Name in keyof Members]?: NonNullable<Members[Name]> }

/** The members that are neither undefined nor null. */
export function prune<Members extends object>(members: Members): Pruned<Members> {
  const entries = Object.entries(members).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  // `fromEntries` forgets the names of the members.
  return Object.fromEntries(entries) as Pruned<Members>
}
