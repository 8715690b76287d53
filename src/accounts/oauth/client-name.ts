import { plainLine } from '../../core/words/shorten.ts'

/** As the names of keys are. */
const nameLengthMax = 100

/** A client's name for itself on one line, at most 100 characters; `otherwise` where it has none. */
export function plainName(name: string, otherwise: string): string {
  return plainLine(name, nameLengthMax) || plainLine(otherwise, nameLengthMax) || 'client'
}
