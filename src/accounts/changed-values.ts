/**
 * The members that differ between two versions of the same settings, as they were and as they are;
 * undefined where none does.
 */
export function changedValues<Settings extends object>(
  old: Settings,
  now: Settings,
): { before: Partial<Settings>; after: Partial<Settings> } | undefined {
  // The members of an object are those of its type.
  const names = Object.keys(now) as (keyof Settings)[]
  const changed = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
  if (changed.length === 0) return undefined
  const before: Partial<Settings> = {}
  const after: Partial<Settings> = {}
  for (const name of changed) {
    before[name] = old[name]
    after[name] = now[name]
  }
  return { before, after }
}
