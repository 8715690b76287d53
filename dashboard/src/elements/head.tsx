import type { ComponentChildren } from 'preact'
import { useTitle } from '../data/title.ts'

type Props = { title: string; children?: ComponentChildren }

/** The heading of a part of a page, which is the title of the window too; beside it what leads elsewhere. */
export function Head({ title, children }: Props) {
  useTitle(title)
  return (
    <div class="head">
      <h1>{title}</h1>
      {children}
    </div>
  )
}
