import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './command.ts'

const bytesMax = 64 * 1024

/** Reads a line without echo from a terminal, otherwise all of standard input. Throws a UsageError. */
export async function readSecret(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  if (stdin.isTTY) {
    stderr.write(prompt)
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    const lines = createInterface({ input: stdin, output, terminal: true })
    try {
      return await lines.question('')
    } finally {
      lines.close()
      stderr.write('\n')
    }
  }
  let text = ''
  for await (const piece of stdin.setEncoding('utf8')) {
    text += String(piece)
    if (text.length > bytesMax) throw new UsageError('Standard input is too long for a key.')
  }
  return text
}
