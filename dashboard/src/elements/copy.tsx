import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const shownMs = 2000
const told = { copied: 'Copied', failed: 'Mark it and copy' } as const

/** Copies a text, and says that it has. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (outcome === undefined) return undefined
    const timer = setTimeout(() => setOutcome(undefined), shownMs)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => {
    // Browsers offer it to pages of https and of this machine only.
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    setOutcome(await done.then(() => 'copied' as const).catch(() => 'failed' as const))
  }
  const said = outcome === undefined ? 'Copy' : told[outcome]
  return (
    <button
      type="button"
      class="plain copy"
      aria-label={`${said} ${what}`}
      onClick={() => void copy()}
    >
      <Icon name={outcome === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{said}</span>
    </button>
  )
}

/** Lines to copy, as they are. */
export function Snippet({ text, what }: { text: string; what: string }) {
  return (
    <div class="snippet">
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
