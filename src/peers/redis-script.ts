import { hash } from 'node:crypto'

type ScriptWords = { keys: string[]; arguments: (string | Buffer)[] }
/** The driver's commands that scripts need. */
export type ScriptRunner = {
  evalSha(sha1: string, words: ScriptWords): Promise<unknown>
  eval(text: string, words: ScriptWords): Promise<unknown>
}

/** A Lua script, run by EVALSHA; if Redis does not know the script, it is sent with EVAL. */
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
