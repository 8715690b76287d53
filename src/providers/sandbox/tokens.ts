/**
 * Splits a text into tokens: at most eight letters, at most three digits, or one other character,
 * with the space before it. The same tokens are streamed and counted.
 */
export function tokensOf(text: string): string[] {
  return text.match(/\s?\p{L}{1,8}|\s?\p{N}{1,3}|\s?[^\s\p{L}\p{N}]|\s/gu) ?? []
}

export function countTokens(text: string): number {
  return tokensOf(text).length
}
