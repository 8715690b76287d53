/** As the names of keys are. */
const nameLengthMax = 100

/** A client's name for itself on one line, at most 100 characters; `otherwise` where it has none. */
export function plainName(name: string, otherwise: string): string {
  return cleaned(name) || cleaned(otherwise) || 'client'
}

function cleaned(text: string): string {
  // Also marks that turn the direction of what follows.
  const printable = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  // Not half of a character.
  return printable
    .slice(0, nameLengthMax)
    .replace(/[\ud800-\udbff]$/, '')
    .trim()
}
