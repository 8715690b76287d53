import { hash } from 'node:crypto'

type ScriptWords = { keys: string[]; arguments: (string | Buffer)[] }
/** What is needed of the driver's commands. */
export type ScriptRunner = {
  evalSha(sha1: string, words: ScriptWords): Promise<unknown>
  eval(text: string, words: ScriptWords): Promise<unknown>
}

/** A script in Lua that Redis carries out by its digest; it is sent again when Redis has forgotten it. */
export function createScript(
  text: string,
): (commands: ScriptRunner, words: ScriptWords) => Promise<unknown> {
  const digest = hash('sha1', text)
  return (commands, words) =>
    commands.evalSha(digest, words).catch((error: unknown) => {
      if (!isForgotten(error)) throw error
      return commands.eval(text, words)
    })
}

function isForgotten(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
