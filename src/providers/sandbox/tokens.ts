/**
 * The sandbox's tokens: words with the space before them, in pieces of at most eight letters, runs of
 * at most three digits, and single other signs. What is streamed and what is counted are the same.
 */
export function tokensOf(text: string): string[] {
  return text.match(/\s?\p{L}{1,8}|\s?\p{N}{1,3}|\s?[^\s\p{L}\p{N}]|\s/gu) ?? []
}

/** How many tokens a text has. */
export function countTokens(text: string): number {
  return tokensOf(text).length
}
