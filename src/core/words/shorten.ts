/** Cuts a text to at most `lengthMax` characters, with a mark when it was longer. */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
}

/** An untrusted text on one line of at most `lengthMax` characters, without control and bidirectional characters. */
export function plainLine(text: string, lengthMax: number): string {
  return shortened(text.replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ').trim(), lengthMax)
}
