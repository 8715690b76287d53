import { shortened } from './shortened.ts'

/** A stranger's text on one line of at most `lengthMax` characters, without those that hide or turn text. */
export function plainLine(text: string, lengthMax: number): string {
  return shortened(text.replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ').trim(), lengthMax)
}
