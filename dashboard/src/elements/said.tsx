import { useEffect, useRef, useState } from 'preact/hooks'

type Words = { text: string }

/** What was done last, and how to say it; the same words can be said again. */
export function useSaid(): [said: Words | undefined, say: (text: string | undefined) => void] {
  const [said, setSaid] = useState<Words>()
  return [said, (text) => setSaid(text === undefined ? undefined : { text })]
}

/** Says what was done, where the focus goes on from. */
export function Said({ said }: { said: Words | undefined }) {
  const element = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (said !== undefined) element.current?.focus()
  }, [said])
  if (said === undefined) return null
  return (
    <p ref={element} class="said" role="status" tabIndex={-1}>
      {said.text}
    </p>
  )
}
