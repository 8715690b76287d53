import type { Model } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'

/** How much longer or shorter a name may be; `nearName` takes as many slips. */
const lettersMax = 3

/** The name that is probably meant by one that no model has; undefined if none is near. */
export function nearModel(asked: string, models: readonly Model[]): string | undefined {
  const plain = asked.trim().toLowerCase()
  const names = models
    .flatMap(({ row: { id, aliases = [] } }) => [id, id.slice(id.indexOf('/') + 1), ...aliases])
    .filter((name) => Math.abs(name.length - plain.length) <= lettersMax)
  const digits = digitsOf(plain)
  // Of two versions neither is a slip for the other, so letters are doubted before digits.
  const sameVersion = names.filter((name) => digitsOf(name) === digits)
  return nearName(plain, sameVersion) ?? nearName(plain, names)
}

function digitsOf(name: string): string {
  return name.replaceAll(/\D/g, '')
}
