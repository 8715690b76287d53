import { hash } from 'node:crypto'

type Odds = { token: string; logprob: number; bytes: number[] }
type TokenOdds = Odds & { top_logprobs: Odds[] }

const others = [' the', ' a', ' and', ' of', ' to', ' in', ' it', ' that', ' is', ' was']
const otherStep = 0.7

/** Made-up log probabilities of the tokens, always the same, with `top` alternatives for each. */
export function tokenOdds(tokens: readonly string[], top: number): TokenOdds[] {
  return tokens.map((token, index) => {
    const chance = hash('sha256', `${index}${token}`, 'buffer').readUInt16BE() / 65_536
    // From certain to one in three, so that the said token is always the likeliest.
    const logprob = round(-1.1 * chance * chance)
    const rest = others
      .filter((other) => other !== token)
      .map((other, place) => odds(other, round(logprob - 1 - otherStep * (place + chance))))
    return { ...odds(token, logprob), top_logprobs: [odds(token, logprob), ...rest].slice(0, top) }
  })
}

function odds(token: string, logprob: number): Odds {
  return { token, logprob, bytes: [...Buffer.from(token)] }
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
