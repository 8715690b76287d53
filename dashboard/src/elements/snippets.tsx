import { useState } from 'preact/hooks'
import type { Snippet as Lines } from '../data/snippets.ts'
import { Snippet } from './copy.tsx'

/** Alternative snippets for the same task, one shown at a time. */
export function Snippets({ title, ways }: { title: string; ways: readonly Lines[] }) {
  const [chosen, choose] = useState(ways[0]!.name)
  const shown = ways.find(({ name }) => name === chosen) ?? ways[0]!
  return (
    <>
      <div class="tabs" role="group" aria-label={title}>
        {ways.map(({ name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === shown.name}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <Snippet text={shown.text} what={shown.name} />
    </>
  )
}
